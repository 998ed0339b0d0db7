"""Objects in, text out, and the text into files: nothing half-written, nothing removed that is not ours."""
