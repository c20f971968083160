import { Kbd, Modal, Switch } from '@mantine/core';
import { useLetterShortcuts } from './preferences';
import styles from './ShortcutsHelp.module.css';
import { SHORTCUT_HELP } from './shortcuts';

/** The keys of the page, and the switch for those that are single letters. */
export function ShortcutsHelp({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const [letters, setLetters] = useLetterShortcuts();
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title="Keys"
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <dl className={styles.keys}>
        {SHORTCUT_HELP.map(({ keys, does }) => (
          <div key={does}>
            <dt>
              {keys.map((key) => (
                <Kbd key={key} size="xs">
                  {key}
                </Kbd>
              ))}
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <Switch
        size="xs"
        label="Keys that are single letters"
        checked={letters}
        onChange={(event) => setLetters(event.currentTarget.checked)}
      />
    </Modal>
  );
}
