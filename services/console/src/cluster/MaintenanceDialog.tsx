/** Asks before maintenance mode is turned on or off, and says what this does. */

import { ConfirmDialog } from '../app/ConfirmDialog';
import { useClient } from '../app/clientContext';
import styles from './ClusterPage.module.css';
import { effectsOf, setMaintenance } from './maintenance';

interface MaintenanceDialogProps {
  /** Whether it is turned on. */
  isOn: boolean;
  onChanged: () => void;
  onClose: () => void;
}

export function MaintenanceDialog({ isOn, onChanged, onClose }: MaintenanceDialogProps) {
  const client = useClient();
  const change = async () => {
    await setMaintenance(client, isOn);
    onChanged();
  };
  return (
    <ConfirmDialog
      title={isOn ? 'Turn maintenance mode on?' : 'Turn maintenance mode off?'}
      action={isOn ? 'Turn on' : 'Turn off'}
      isAdvised={false}
      testId="maintenance-form"
      onConfirm={change}
      onClose={onClose}
    >
      <ul className={styles.losses} data-testid="maintenance-effects">
        {effectsOf(isOn).map((effect) => (
          <li key={effect}>{effect}</li>
        ))}
      </ul>
    </ConfirmDialog>
  );
}
