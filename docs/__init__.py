"""The documentation, with the scripts that draw its pictures and check the built site."""
