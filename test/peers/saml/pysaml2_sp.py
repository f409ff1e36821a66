"""A service provider on pysaml2: /metadata, /login, /acs. It is told everything by a JSON file."""
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from saml2 import BINDING_HTTP_POST, BINDING_HTTP_REDIRECT
from saml2.client import Saml2Client
from saml2.config import SPConfig
from saml2.metadata import create_metadata_string

with open(sys.argv[1], encoding="utf-8") as file:
    told = json.load(file)

config = SPConfig().load({
    "entityid": told["url"] + "/metadata",
    "xmlsec_binary": "/usr/bin/xmlsec1",
    "key_file": told["key"],
    "cert_file": told["certificate"],
    "encryption_keypairs": [{"key_file": told["key"], "cert_file": told["certificate"]}],
    "metadata": {"local": [told["metadata"]]},
    "signing_algorithm": "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256",
    "digest_algorithm": "http://www.w3.org/2001/04/xmlenc#sha256",
    "allow_unknown_attributes": True,
    "service": {"sp": {
        "endpoints": {"assertion_consumer_service": [(told["url"] + "/acs", BINDING_HTTP_POST)]},
        "authn_requests_signed": True,
        "want_response_signed": True,
        "want_assertions_signed": True,
        "allow_unsolicited": False,
        "name_id_format": ["urn:oasis:names:tc:SAML:2.0:nameid-format:persistent"],
    }},
})
client = Saml2Client(config=config)
outstanding = {}


class Handler(BaseHTTPRequestHandler):
    def answer(self, status, kind, text, **headers):
        self.send_response(status)
        self.send_header("content-type", kind)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text.encode())

    def do_GET(self):
        url = urlsplit(self.path)
        if url.path == "/metadata":
            self.answer(200, "text/xml", create_metadata_string(None, config=config).decode())
        elif url.path == "/login":
            [relay_state] = parse_qs(url.query)["relay_state"]
            binding = BINDING_HTTP_POST if "form" in parse_qs(url.query) else BINDING_HTTP_REDIRECT
            request, info = client.prepare_for_authenticate(
                entityid=told["issuer"], relay_state=relay_state, binding=binding, sign=True,
                sigalg="http://www.w3.org/2001/04/xmldsig-more#rsa-sha256")
            outstanding[request] = relay_state
            if binding == BINDING_HTTP_POST:
                self.answer(200, "text/html", info["data"])
            else:
                self.answer(302, "text/plain", "", Location=dict(info["headers"])["Location"])
        else:
            self.answer(200, "text/plain", "ready")

    def do_POST(self):
        form = parse_qs(self.rfile.read(int(self.headers["content-length"])).decode())
        response = client.parse_authn_request_response(
            form["SAMLResponse"][0], BINDING_HTTP_POST, outstanding)
        statement = response.assertion.authn_statement[0]
        self.answer(200, "application/json", json.dumps({
            "nameId": response.name_id.text,
            "format": response.name_id.format,
            "issuer": response.issuer(),
            "attributes": response.ava,
            "context": statement.authn_context.authn_context_class_ref.text,
            "relayState": form["RelayState"][0],
            "cameFrom": response.came_from,
        }))

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", told["port"]), Handler).serve_forever()
