/** Which roles read and write an object. */

import { Checkbox } from '@mantine/core';
import styles from '../objects/Objects.module.css';

interface RoleRightsProps {
  /** Roles that there are; those that have a right already are added. */
  roles: readonly string[];
  readers: readonly string[];
  writers: readonly string[];
  onReaders: (roles: string[]) => void;
  onWriters: (roles: string[]) => void;
}

const toggled = (list: readonly string[], role: string): string[] =>
  list.includes(role) ? list.filter((one) => one !== role) : [...list, role];

export function RoleRights({ roles, readers, writers, onReaders, onWriters }: RoleRightsProps) {
  const all = new Set(['*', ...roles, ...readers, ...writers]);
  return (
    <table className={styles.table}>
      <thead>
        <tr>
          <th scope="col">Role</th>
          <th scope="col">Read</th>
          <th scope="col">Write</th>
        </tr>
      </thead>
      <tbody>
        {[...all].map((role) => (
          <tr key={role}>
            <td>{role === '*' ? 'Everybody' : role}</td>
            <td>
              <Checkbox
                size="xs"
                aria-label={`${role} may read`}
                checked={readers.includes(role)}
                onChange={() => onReaders(toggled(readers, role))}
              />
            </td>
            <td>
              <Checkbox
                size="xs"
                aria-label={`${role} may write`}
                checked={writers.includes(role)}
                onChange={() => onWriters(toggled(writers, role))}
              />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
