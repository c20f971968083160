/** Users, roles and tokens: who may do what. */

import type { Entry, Me } from '../api/types';
import { column, contentText, type Kind, type Values } from '../objects/kind';

const date = (seconds: unknown): string =>
  typeof seconds === 'number' && seconds > 0
    ? `${new Date(seconds * 1000).toISOString().slice(0, 16).replace('T', ' ')} UTC`
    : '';

const claims = (entry: Entry): Record<string, unknown> => {
  const value = entry.content.claims;
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
};

const isOwn = (me: Me, entry: Entry | null): boolean => entry?.name === me.username;

/** The server asks users for the current password, unless they may change every password. */
const needsCurrent = (me: Me, entry: Entry | null): boolean =>
  isOwn(me, entry) &&
  me.capabilities.has('change_own_password') &&
  !me.capabilities.has('edit_user');

export const users: Kind = {
  title: 'Users',
  noun: 'user',
  about:
    'Users with a password on this server. Users of an identity provider or of LDAP get their roles there.',
  path: '/services/authentication/users',
  isOfApps: false,
  capability: 'edit_user',
  columns: [
    column('Full name', 'realname'),
    column('E-mail', 'email'),
    column('Roles', 'roles'),
    { label: 'State', text: (entry) => (entry.content['locked-out'] === true ? 'locked out' : '') },
    {
      label: 'From',
      // "Splunk" is Splunk's name for users of the server itself.
      text: (entry) => (entry.content.type === 'Splunk' ? 'local' : contentText(entry, 'type')),
    },
  ],
  fields: [
    { name: 'name', label: 'User name', kind: 'text', isRequired: true, when: 'new' },
    { name: 'realname', label: 'Full name', kind: 'text' },
    { name: 'email', label: 'E-mail', kind: 'text' },
    {
      name: 'password',
      label: 'Password',
      kind: 'password',
      when: 'new',
      isRequired: true,
    },
    {
      name: 'oldpassword',
      label: 'Current password',
      kind: 'password',
      when: 'existing',
      neededBy: 'password',
      autoComplete: 'current-password',
      isFor: needsCurrent,
      help: 'Only for a new password.',
    },
    {
      name: 'password',
      label: 'New password',
      kind: 'password',
      when: 'existing',
      isFor: (me, entry) => me.capabilities.has('edit_user') || needsCurrent(me, entry),
      help: 'If left empty, the password is not changed. A new password ends the other sessions of the user.',
    },
    {
      name: 'roles',
      label: 'Roles',
      kind: 'checks',
      source: 'roles',
      isRequired: true,
      capability: 'edit_user',
    },
    {
      name: 'defaultApp',
      label: 'App after the login',
      kind: 'choice',
      source: 'apps',
      initial: 'search',
    },
    {
      name: 'tz',
      label: 'Time zone',
      kind: 'text',
      help: 'Such as Europe/Berlin: for times in the console, and days of searches. If empty, that of the browser, and over REST that of the server.',
    },
    {
      name: 'force-change-pass',
      label: 'The password must be changed at the next login',
      kind: 'switch',
      capability: 'edit_user',
    },
    {
      name: 'locked-out',
      label: 'Locked out: the user cannot log in',
      kind: 'switch',
      when: 'existing',
      capability: 'edit_user',
    },
  ],
  loss: (entry) =>
    `${entry.name} can no longer log in, and the sessions and tokens of ${entry.name} end. Reports, dashboards and other objects of the user are kept; private objects are visible only to administrators.`,
};

const names = (value: unknown): string[] =>
  String(value ?? '')
    .split(/[,;\s]+/)
    .filter(Boolean);

/** As the server reads it: only a pattern with an underscore in front matches internal indexes. */
function reaches(pattern: string, index: string): boolean {
  if (index.startsWith('_') && !pattern.startsWith('_')) return false;
  const parts = pattern.split('*').map((part) => part.replace(/[^\w-]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`).test(index);
}

/** Default indexes that the role may not search; those that imported roles permit are not known here. */
export function defaultsProblem(text: string, values: Values): string | null {
  const imported = values.imported_roles;
  if (Array.isArray(imported) && imported.length > 0) return null;
  const allowed = names(values.srchIndexesAllowed);
  // As the server does: the default "web*" and the allowed "web_prod" have an index in common.
  const meets = (one: string) => (pattern: string) =>
    reaches(pattern, one) || reaches(one, pattern);
  const outside = names(text).filter((one) => !allowed.some(meets(one)));
  return outside.length > 0
    ? `Not among the indexes that may be searched: ${outside.join(', ')}`
    : null;
}

export const roles: Kind = {
  title: 'Roles',
  noun: 'role',
  about:
    'A role has capabilities and the indexes that searches of its users may read; it also has those of the roles that it imports.',
  path: '/services/authorization/roles',
  isOfApps: false,
  capability: 'edit_roles',
  columns: [
    column('Imports', 'imported_roles'),
    {
      label: 'Capabilities',
      isNumeric: true,
      text: (entry) =>
        String(
          new Set([...list(entry, 'capabilities'), ...list(entry, 'imported_capabilities')]).size,
        ),
    },
    column('Searched indexes', 'srchIndexesAllowed', { isCode: true }),
    column('Filter', 'srchFilter', { isCode: true }),
  ],
  fields: [
    { name: 'name', label: 'Name', kind: 'text', isRequired: true, when: 'new' },
    { name: 'imported_roles', label: 'Imported roles', kind: 'checks', source: 'roles' },
    { name: 'capabilities', label: 'Capabilities', kind: 'checks', source: 'capabilities' },
    {
      name: 'srchIndexesAllowed',
      label: 'Indexes that may be searched',
      kind: 'list',
      help: 'Separated by commas. * matches every index without a leading underscore, _* every internal index.',
    },
    {
      name: 'srchIndexesDisallowed',
      label: 'Indexes that may not be searched',
      kind: 'list',
      help: 'Takes precedence over what this and other roles of the user allow.',
    },
    {
      name: 'srchIndexesDefault',
      label: 'Default indexes of searches',
      kind: 'list',
      check: defaultsProblem,
      checkedWith: ['srchIndexesAllowed', 'imported_roles'],
    },
    {
      name: 'srchFilter',
      label: 'Filter of all searches',
      kind: 'text',
      help: 'Such as host=web*: users of the role see nothing else.',
    },
    {
      name: 'srchJobsQuota',
      label: 'Concurrent searches per user (srchJobsQuota)',
      kind: 'number',
      help: 'With several roles, the largest value applies. Dashboards run at most this number of panels at the same time.',
    },
  ],
  loss: (entry) =>
    `Users and roles with ${entry.name} lose its capabilities and indexes. Objects that they have created are kept.`,
};

function list(entry: Entry, name: string): unknown[] {
  const value = entry.content[name];
  return Array.isArray(value) ? value : [];
}

export const apiTokens: Kind = {
  title: 'API tokens',
  noun: 'token',
  about:
    'A token represents its user in requests of programs: Authorization: Bearer TOKEN. It is shown once, when it is created.',
  path: '/services/authorization/tokens',
  isOfApps: false,
  capability: 'edit_tokens_own',
  columns: [
    { label: 'User', text: (entry) => String(claims(entry).sub ?? '') },
    { label: 'For', text: (entry) => String(claims(entry).aud ?? '') },
    column('State', 'status'),
    { label: 'Expires', text: (entry) => date(claims(entry).exp) || 'never' },
    { label: 'Last used', text: (entry) => date(entry.content.lastUsed) || 'never' },
  ],
  fields: [
    {
      name: 'name',
      label: 'User',
      kind: 'text',
      isRequired: true,
      when: 'new',
      help: 'Tokens of other users require the capability edit_tokens_all.',
    },
    {
      name: 'audience',
      label: 'For',
      kind: 'text',
      isRequired: true,
      when: 'new',
      help: 'Purpose, such as "backup script".',
    },
    {
      name: 'expires_on',
      label: 'Expires',
      kind: 'text',
      when: 'new',
      initial: '+30d',
      help: '+30d, or a time such as 2027-01-31T00:00:00Z. Empty: never.',
    },
    {
      name: 'srchIndexesAllowed',
      label: 'Only these indexes',
      kind: 'list',
      when: 'new',
      help: 'Empty for those of the user.',
    },
    {
      name: 'status',
      label: 'State',
      kind: 'choice',
      when: 'existing',
      options: [
        { value: 'enabled', label: 'enabled' },
        { value: 'disabled', label: 'disabled' },
      ],
    },
  ],
  secret: (entry) =>
    contentText(entry, 'token') === ''
      ? null
      : {
          label: 'Token',
          value: contentText(entry, 'token'),
          note: 'Copy the token now. The server does not show it again.',
        },
  loss: (entry) =>
    `Programs that use this token (${String(claims(entry).aud ?? 'unknown')}) are refused from now on. It cannot be restored.`,
};
