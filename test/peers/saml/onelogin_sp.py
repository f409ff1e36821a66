"""A service provider on OneLogin's toolkit, strict: /metadata, /login, /acs. It is told everything by a JSON file."""
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from onelogin.saml2.auth import OneLogin_Saml2_Auth
from onelogin.saml2.idp_metadata_parser import OneLogin_Saml2_IdPMetadataParser
from onelogin.saml2.settings import OneLogin_Saml2_Settings

with open(sys.argv[1], encoding="utf-8") as file:
    told = json.load(file)


def read(name):
    with open(told[name], encoding="utf-8") as opened:
        return opened.read()


settings = OneLogin_Saml2_IdPMetadataParser.merge_settings({
    "strict": True,
    "sp": {
        "entityId": told["url"] + "/metadata",
        "assertionConsumerService": {
            "url": told["url"] + "/acs",
            "binding": "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST",
        },
        "NameIDFormat": "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent",
        "x509cert": read("certificate"),
        "privateKey": read("key"),
    },
    "security": {
        "authnRequestsSigned": True,
        "wantMessagesSigned": True,
        "wantAssertionsSigned": True,
        "wantAssertionsEncrypted": True,
        "wantNameId": True,
        "requestedAuthnContext": True,
        "rejectDeprecatedAlgorithm": True,
        "signatureAlgorithm": "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256",
        "digestAlgorithm": "http://www.w3.org/2001/04/xmlenc#sha256",
    },
}, OneLogin_Saml2_IdPMetadataParser.parse(read("metadata")))
requests = []


class Handler(BaseHTTPRequestHandler):
    def answer(self, status, kind, text, **headers):
        self.send_response(status)
        self.send_header("content-type", kind)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text.encode())

    def auth(self, query, form):
        return OneLogin_Saml2_Auth({
            "https": "off",
            "http_host": urlsplit(told["url"]).netloc,
            "script_name": urlsplit(self.path).path,
            "get_data": query,
            "post_data": form,
        }, settings)

    def do_GET(self):
        url = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        if url.path == "/metadata":
            self.answer(200, "text/xml", OneLogin_Saml2_Settings(settings).get_sp_metadata().decode())
        elif url.path == "/login":
            auth = self.auth(query, {})
            target = auth.login(return_to=query["relay_state"], force_authn="force" in query)
            requests.append(auth.get_last_request_id())
            self.answer(302, "text/plain", "", Location=target)
        else:
            self.answer(200, "text/plain", "ready")

    def do_POST(self):
        sent = parse_qs(self.rfile.read(int(self.headers["content-length"])).decode())
        form = {name: values[0] for name, values in sent.items()}
        auth = self.auth({}, form)
        auth.process_response(request_id=requests[-1])
        self.answer(200, "application/json", json.dumps({
            "errors": auth.get_errors(),
            "reason": auth.get_last_error_reason(),
            "nameId": auth.get_nameid(),
            "format": auth.get_nameid_format(),
            "attributes": auth.get_attributes(),
            "contexts": auth.get_last_authn_contexts(),
            "relayState": form.get("RelayState"),
        }))

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", told["port"]), Handler).serve_forever()
