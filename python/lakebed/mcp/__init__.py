"""A server of the Model Context Protocol: what an assistant may ask about tables.

It reads only what is below the roots that it was started with, and writes nothing. The command `lakebed mcp`
alone imports it, and with it the SDK.
"""
