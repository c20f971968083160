/** What a person has chosen for the page, kept in the browser. */

import { useLocalStorage } from '@mantine/hooks';
import { createContext, useContext } from 'react';
import { zoneOf } from '../time/zone';
import { useConnection } from './clientContext';

/** The zone of the account; empty if it has none. */
export const AccountZone = createContext('');

/** The zone in which times are shown and typed, and in which days of searches begin. */
export function useZone(): [string, (zone: string) => void] {
  const { username } = useConnection();
  const account = useContext(AccountZone);
  const [chosen, setChosen] = useLocalStorage({
    // One choice per user: the next user of the browser has another account.
    key: `karst.zone.${username}`,
    defaultValue: '',
    getInitialValueInEffect: false,
  });
  const own = zoneOf('', account);
  // The zone without a choice is not kept as one: it follows the account.
  return [zoneOf(chosen, account), (zone) => setChosen(zone === own ? '' : zone)];
}

const DEFAULT_FIELDS = ['host', 'source', 'sourcetype'];

/** Fields shown under every event and first in the field list. */
export function useSelectedFields(): [string[], (toggled: string) => void] {
  const [fields, setFields] = useLocalStorage({
    key: 'karst.fields',
    defaultValue: DEFAULT_FIELDS,
    getInitialValueInEffect: false,
  });
  const toggle = (field: string) =>
    setFields((known) =>
      known.includes(field) ? known.filter((name) => name !== field) : [...known, field],
    );
  return [fields, toggle];
}

export function useWrapLines(): [boolean, (wrap: boolean) => void] {
  const [wrap, setWrap] = useLocalStorage({
    key: 'karst.wrap',
    defaultValue: true,
    getInitialValueInEffect: false,
  });
  return [wrap, setWrap];
}

/** Whether the rail shows icons alone. */
export function useRailFolded(): [boolean, (folded: boolean) => void] {
  const [folded, setFolded] = useLocalStorage({
    key: 'karst.rail',
    defaultValue: false,
    getInitialValueInEffect: false,
  });
  return [folded, setFolded];
}

/** The app of views whose address names none. */
export function useLastApp(): [string, (app: string) => void] {
  const [app, setApp] = useLocalStorage({
    key: 'karst.app',
    defaultValue: 'search',
    getInitialValueInEffect: false,
  });
  return [app, setApp];
}

/** Whether single letters are shortcuts (WCAG 2.1.4). */
export function useLetterShortcuts(): [boolean, (on: boolean) => void] {
  const [on, setOn] = useLocalStorage({
    key: 'karst.shortcuts',
    defaultValue: true,
    getInitialValueInEffect: false,
  });
  return [on, setOn];
}
