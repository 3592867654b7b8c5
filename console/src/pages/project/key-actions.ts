import {
  IconAlarm,
  IconAlertTriangle,
  IconPencil,
  IconPlayerPause,
  IconPlayerPlay,
  IconRefresh,
  IconTrash,
} from '@tabler/icons-react'
import { type KeyRow, mayBeActivated } from '../../keys/queries.ts'

export const keyActions = [
  'replace',
  'rename',
  'expire',
  'activate',
  'deactivate',
  'compromise',
  'delete',
] as const
export type KeyAction = (typeof keyActions)[number]

/** The actions on a key that the service would carry out; `rotate` leads to a page. The urgent are first. */
export function actionsOf(row: KeyRow) {
  const { active, state, endsBecause } = row
  const isCompromised = state === 'compromised'
  const isSound = active && !isCompromised
  const rotate = state === 'previous' ? 'Continue' : 'Rotate'
  const expire = state === 'expired' ? 'Extend or clear expiry' : 'Set expiry'
  const mayExpire = active || endsBecause !== 'compromised'
  const all = [
    [isCompromised, 'replace', 'Replace and revoke now', IconRefresh],
    [isSound, 'rotate', rotate, IconRefresh],
    [isSound, 'deactivate', 'Deactivate', IconPlayerPause],
    [mayBeActivated(row), 'activate', 'Activate', IconPlayerPlay],
    [true, 'rename', 'Rename', IconPencil],
    [mayExpire, 'expire', expire, IconAlarm],
    [
      !active && endsBecause !== 'compromised',
      'compromise',
      'It was compromised',
      IconAlertTriangle,
    ],
    [!active, 'delete', 'Delete', IconTrash],
  ] as const
  return all.flatMap(([isOffered, action, label, Icon]) =>
    isOffered ? [{ action, label, Icon }] : [],
  )
}
