import { type ModalProps, Modal as Plain } from '@mantine/core';
import { useFocusBack } from './useFocusBack';

/** A dialog that is mounted open, and unmounted when it is closed: the focus goes back to what opened it. */
export function Modal(props: ModalProps) {
  useFocusBack();
  return <Plain {...props} />;
}
