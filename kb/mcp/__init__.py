"""The agents' door: a server of the Model Context Protocol over one knowledge base."""
