"""Environments as OpenEnv 0.10 servers. Needs the extra `serve`."""
