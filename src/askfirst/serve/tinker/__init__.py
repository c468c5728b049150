"""The backend `hf` behind the wire protocol of the Tinker API: one base model, many sessions with their adapters."""
