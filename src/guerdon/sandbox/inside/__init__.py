"""What runs inside of the sandbox: the standard library only, and nothing of the rest of the package.

The modules are imported as ``guerdon.sandbox.inside`` on the trusted side, for what both sides share, and as
the top-level package ``inside`` by the fork server's interpreter, which has no site-packages. Imports among them
are therefore relative.
"""
