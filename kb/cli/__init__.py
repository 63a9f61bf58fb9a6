"""The command line: parse → operation → wire → print. No logic lives here."""
