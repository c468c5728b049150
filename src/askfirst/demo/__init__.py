"""A run as a Gradio app: results, replay, live chat, environment. Needs the extra `demo`."""
