import { invalidField, PubringError } from '../../errors.ts'

/** Why this process does not sign checkpoints, and what to do. */
const faults = {
  no_key:
    'This server has no signing key, so it adds nothing to the log. Send the request to the server that has one, or set PUBRING_LOG_KEY_FILE.',
  other_signer:
    'Another server has signed later checkpoints than this one. Send the request there, or move its key file and the file of signed checkpoints here.',
  other_key:
    'The log belongs to another signing key. Put its key file back, or start a new epoch: pubring log new-epoch.',
  checkpoints_missing:
    'The file of signed checkpoints beside the key is missing, so the log could fork unnoticed. Put it back, or start a new epoch: pubring log new-epoch.',
  diverged:
    'The log does not extend a checkpoint that was signed before: the database was restored, or a fail-over has lost changes. Restore the lost entries, or start a new epoch: pubring log new-epoch.',
  contradicted:
    'A witness has cosigned a tree that this one does not extend: the database was restored, or a fail-over has lost changes. The log of the server names the witness. Restore the lost entries, or start a new epoch: pubring log new-epoch. If the witness is at fault, remove it from PUBRING_LOG_WITNESSES.',
  damaged:
    'Part of the log is missing from the database, or was altered. Restore it from a backup, or start a new epoch: pubring log new-epoch.',
} as const

export type LogFault = keyof typeof faults

/** Whether the log has stopped, as opposed to a process that leaves it to another one. */
export function isStop(fault: LogFault | undefined): boolean {
  return fault !== undefined && fault !== 'no_key' && fault !== 'other_signer'
}

export function logError(fault: LogFault): PubringError {
  return invalidField('', fault, faults[fault], 'log_stopped')
}

/** The fault in an error of `logError`. */
export function faultIn(error: unknown): LogFault | undefined {
  if (!(error instanceof PubringError) || error.code !== 'log_stopped') return undefined
  const code = error.extras.errors?.[0]?.code
  return Object.keys(faults).find((fault): fault is LogFault => fault === code)
}
