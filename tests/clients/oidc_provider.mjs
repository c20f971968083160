// An OpenID provider for the tests: node oidc_provider.mjs PACKAGES PORT CALLBACK
//
// Everybody may log in, with any password; who is in which group is below. Its key is made at each start.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import path from 'node:path';

const [packages, port, callback] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(createRequire(path.join(packages, 'x.js')).resolve(name)));
const { default: Provider } = await import(
  pathToFileURL(path.join(packages, 'oidc-provider', 'lib', 'index.js'))
);
const { generateKeyPair, exportJWK } = await load('jose');

const GROUPS = { ann: ['ops'], eve: ['visitors'], admin: ['ops'], robot: ['readers'] };
const issuer = `http://127.0.0.1:${port}`;
const { privateKey } = await generateKeyPair('RS256', { extractable: true });
const key = { ...(await exportJWK(privateKey)), use: 'sig', alg: 'RS256', kid: `key-${process.pid}` };
const claims = (name) => ({
  sub: `id-of-${name}`,
  preferred_username: name,
  name: `${name} of the tests`,
  email: `${name}@example.org`,
  groups: GROUPS[name] ?? [],
});

const provider = new Provider(issuer, {
  jwks: { keys: [key] },
  cookies: { keys: ['for tests only'] },
  clients: [
    {
      client_id: 'karst',
      client_secret: 'a secret: with +signs %',
      redirect_uris: [callback],
      grant_types: ['authorization_code'],
      response_types: ['code'],
    },
    {
      client_id: 'robot',
      client_secret: 'robot',
      redirect_uris: [],
      response_types: [],
      grant_types: ['client_credentials'],
    },
  ],
  pkce: { required: () => true, methods: ['S256'] },
  conformIdTokenClaims: false,
  scopes: ['openid', 'profile', 'email', 'groups'],
  claims: {
    profile: ['name', 'preferred_username'],
    email: ['email'],
    groups: ['groups'],
  },
  findAccount: (_, id) => ({ accountId: id, claims: () => claims(id) }),
  extraTokenClaims: () => claims('robot'),
  features: {
    devInteractions: { enabled: true },
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => undefined,
      getResourceServerInfo: (_, audience) => ({
        scope: 'read',
        audience,
        accessTokenFormat: 'jwt',
        accessTokenTTL: 600,
      }),
    },
  },
});
provider.on('server_error', (_, error) => console.error(error));
provider.listen(Number(port), '127.0.0.1', () => console.log('ready'));
