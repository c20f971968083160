// A SAML identity provider for the tests:
// node saml_provider.mjs PACKAGES PORT KEY CERTIFICATE [SP_CERTIFICATE]
//
// Everybody may log in, with any password; who is in which group is below. With SP_CERTIFICATE it takes
// signed requests only.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import path from 'node:path';

const [packages, port, key, certificate, spCertificate] = process.argv.slice(2);
const samlp = createRequire(path.join(packages, 'x.js'))('samlp');

const GROUPS = { ann: ['ops'], eve: ['visitors'], admin: ['ops'] };
const issuer = `http://127.0.0.1:${port}/metadata`;
const escape = (text) =>
  text.replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c]);
const form = (action, fields, visible = '') =>
  `<!doctype html><form method="post" action="${escape(action)}">` +
  Object.entries(fields)
    .map(([name, value]) => `<input type="hidden" name="${name}" value="${escape(value)}">`)
    .join('') +
  `${visible}<button>Continue</button></form>`;

// The request in the query, checked by the provider.
const parse = (request) =>
  new Promise((resolve, reject) => {
    const url = new URL(request.url, issuer);
    const query = Object.fromEntries(url.searchParams);
    if (spCertificate && !query.Signature) {
      reject(new Error('the request is not signed'));
      return;
    }
    const options = {
      signingCert: spCertificate && readFileSync(spCertificate),
      sigAlg: query.SigAlg,
      signature: query.Signature,
      relayState: query.RelayState,
    };
    const seen = { method: 'GET', query, url: request.url, originalUrl: request.url };
    samlp.parseRequest(seen, options, (error, data) =>
      error ? reject(error) : resolve({ ...data, relayState: query.RelayState ?? '' }),
    );
  });

const respond = (user, { audience, acs, id, status }) =>
  new Promise((resolve, reject) => {
    const options = {
      key: readFileSync(key),
      cert: readFileSync(certificate),
      issuer,
      audience,
      destination: acs,
      recipient: acs,
      inResponseTo: id,
      signatureAlgorithm: 'rsa-sha256',
      digestAlgorithm: 'sha256',
      sessionIndex: `session-of-${user}`,
      lifetimeInSeconds: 300,
      samlStatusCode: status,
      profileMapper: () => ({
        getClaims: () => ({
          role: GROUPS[user.toLowerCase()] ?? [],
          realName: `${user} of the tests`,
          mail: `${user}@example.org`,
        }),
        getNameIdentifier: () => ({
          nameIdentifier: user,
          nameIdentifierFormat: 'urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified',
        }),
      }),
    };
    samlp.getSamlResponse(options, {}, (error, xml) => (error ? reject(error) : resolve(xml)));
  });

async function body(request) {
  const parts = [];
  for await (const part of request) parts.push(part);
  return Object.fromEntries(new URLSearchParams(Buffer.concat(parts).toString()));
}

async function answer(request) {
  const { pathname } = new URL(request.url, issuer);
  if (pathname === '/sso' && request.method === 'GET') {
    const asked = await parse(request);
    const fields = {
      id: asked.id,
      audience: asked.issuer,
      acs: asked.assertionConsumerServiceURL,
      relayState: asked.relayState,
    };
    return form('/login', fields, '<input name="login"><input name="password" type="password">');
  }
  if (pathname === '/login' && request.method === 'POST') {
    const { login, relayState, ...asked } = await body(request);
    const xml = await respond(login, asked);
    const fields = { SAMLResponse: Buffer.from(xml).toString('base64'), RelayState: relayState };
    return form(asked.acs, fields);
  }
  if (pathname === '/slo') return '<!doctype html><p>Signed out at the provider.</p>';
  return undefined;
}

http
  .createServer((request, response) => {
    answer(request)
      .then((html) => {
        response.writeHead(html ? 200 : 404, { 'content-type': 'text/html; charset=utf-8' });
        response.end(html ?? '');
      })
      .catch((error) => {
        console.error(error);
        response.writeHead(400, { 'content-type': 'text/plain' });
        response.end(String(error.message));
      });
  })
  .listen(Number(port), '127.0.0.1', () => console.log('ready'));
