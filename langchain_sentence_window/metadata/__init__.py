"""The metadata contract: no module outside knows which key means what."""
