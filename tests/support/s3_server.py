"""moto's server, for the thousands of small requests of a layer: it keeps connections open, as S3 does, and looks for
its own services in its folder once and not at every request. That is half of what a request costs.
"""

import sys

import moto.backends
from moto.server import main
from werkzeug.serving import WSGIRequestHandler

if __name__ == "__main__":
    services = tuple(moto.backends.list_of_moto_modules())
    moto.backends.list_of_moto_modules = lambda: services
    WSGIRequestHandler.protocol_version = "HTTP/1.1"
    main(sys.argv[1:])
