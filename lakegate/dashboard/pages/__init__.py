"""Pages: scripts that Streamlit runs, each from its beginning at every look. None imports another."""
