"""Environments and rewards for other trainers and hubs. Each of them scores through `askfirst.desk`."""
