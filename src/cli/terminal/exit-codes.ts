/** Every way in which a command ends: its exit code, and what the documentation says of it. */
export const exitCodes = {
  done: { code: 0, meaning: 'done; of a check: good' },
  failed: {
    code: 1,
    meaning:
      'of a check: not good (a key that would be refused, a token that would not verify, a broken ledger, a weak key found); of another command: it failed for a reason that has no code of its own',
  },
  usage: {
    code: 2,
    meaning:
      'the call is wrong: a command, an option, a variable, a file or the configuration; or a question that nobody could answer wants `--yes`. Nothing was done',
  },
  refused: {
    code: 3,
    meaning: 'what was given is refused: a weak or a private key, a name that cannot be',
  },
  unauthorized: { code: 4, meaning: 'no API key, or one that does not count' },
  forbidden: { code: 5, meaning: 'the role of the API key is too low' },
  not_found: { code: 6, meaning: 'no such project, key, API key or address' },
  conflict: {
    code: 7,
    meaning:
      'it cannot be done as things are: a duplicate, an active key, a project with keys, a limit',
  },
  unavailable: {
    code: 8,
    meaning: 'not now: no connection, no answer in time, storage away, overloaded, rate limit',
  },
  untrusted: {
    code: 9,
    meaning: 'the server is not the right one: its certificate, or an answer that is not Pubring’s',
  },
  interrupted: { code: 130, meaning: 'ended by Ctrl-C (143: by SIGTERM)' },
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
  500: 'failed',
}

/** How a command ends that the server answered with this status. */
export function kindOfStatus(status: number): ExitKind {
  const other = status > 500 ? 'unavailable' : status >= 400 ? 'refused' : 'failed'
  return kindsByStatus[status] ?? other
}
