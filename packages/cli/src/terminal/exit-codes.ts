/**
 * Every way a command can end, with its exit code and the meaning that the documentation prints. 64 and
 * above are those of sysexits.h.
 */
export const exitCodes = {
  done: { code: 0, meaning: 'success; for a check: passed' },
  failed: {
    code: 1,
    meaning:
      'a check found a fault: a key that would be rejected, a token that does not verify, a broken ledger, a weak key, a server that is not healthy',
  },
  drift: {
    code: 2,
    meaning: '`apply --dry-run`: the project differs from the file',
  },
  refused: {
    code: 3,
    meaning: 'the input was rejected: a weak or private key, an invalid name',
  },
  unauthorized: { code: 4, meaning: 'no API key, or an invalid one' },
  forbidden: { code: 5, meaning: 'the API key’s role does not allow it' },
  not_found: { code: 6, meaning: 'no such project, key, API key or route' },
  conflict: {
    code: 7,
    meaning:
      'the current state does not allow it: a duplicate, an active key, a project with keys, a limit',
  },
  unavailable: {
    code: 8,
    meaning: 'try again later: no connection, timeout, storage unavailable, overload, rate limit',
  },
  untrusted: {
    code: 9,
    meaning:
      'the server cannot be trusted: its certificate is invalid, it does not speak TLS, or its responses are not Pubring’s',
  },
  declined: {
    code: 10,
    meaning:
      'not confirmed: the answer was no, or there is no terminal to ask on and `--yes` is missing. Nothing was changed',
  },
  usage: {
    code: 64,
    meaning: 'invalid usage: a command, argument, option or variable. Nothing was done',
  },
  file: {
    code: 66,
    meaning:
      'a file is missing, cannot be read or written, or its content is not what the command reads',
  },
  error: {
    code: 70,
    meaning: 'a failure without a code of its own; a server that cannot start or is killed',
  },
  interrupted: { code: 130, meaning: 'interrupted by Ctrl-C (143: by SIGTERM)' },
} as const satisfies Record<string, { code: number; meaning: string }>

export type ExitKind = keyof typeof exitCodes

const kindsByStatus: Readonly<Record<number, ExitKind>> = {
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  408: 'unavailable',
  409: 'conflict',
  412: 'conflict',
  429: 'unavailable',
  500: 'error',
}

export function kindOfStatus(status: number): ExitKind {
  const other = status > 500 ? 'unavailable' : status >= 400 ? 'refused' : 'error'
  return kindsByStatus[status] ?? other
}
