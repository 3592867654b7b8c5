import type { Command } from 'commander'
import type { ConfirmedFlags, ConnectionFlags } from '../connection/connection.ts'
import type { KeyAddFlags } from '../keys/add.ts'
import type { KeyRotateFlags } from '../keys/rotate.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { addApiCommand, addCommand, addGroup, jsonOption, yesOption } from './options.ts'

const refHelp = 'Kid of the key, or its name if unique'

export function registerKeys(program: Command, terminal: Terminal): void {
  const key = addGroup(program, 'key', 'Manage JWT public keys')
  registerAdd(key, terminal)
  registerReads(key, terminal)
  registerChanges(key, terminal)
  registerDelete(key, terminal)
  registerRotate(key, terminal)
  registerCheck(key, terminal)
}

function registerAdd(key: Command, terminal: Terminal): void {
  addApiCommand(key, {
    name: 'add',
    description: 'Register a public key and print its kid',
    project: true,
    notes:
      'The file contains one public key: PEM, DER, a certificate, an SSH public key or a JWK. Other formats than PEM are converted on this machine. A private key is refused before anything is sent.',
    examples: [
      'pubring key add key.pem --name "orders service, spring 2026"',
      'openssl pkey -in private.pem -pubout | pubring key add - --name orders --expires 90d',
    ],
  })
    .argument('<file>', 'The public key; - reads standard input')
    .requiredOption('-n, --name <name>', 'Name in the list of keys')
    .option(
      '-a, --algorithm <name>',
      'The alg of tokens signed with it; default: the usual one for the key',
    )
    .option('--inactive', 'Register it without activating it')
    .option('--expires <when>', 'When it expires: 90d, or 2027-01-31T12:00:00Z')
    .action(async (file: string, flags: KeyAddFlags) => {
      const { addKey } = await import('../keys/add.ts')
      await addKey(terminal, file, flags)
    })
}

function registerReads(key: Command, terminal: Terminal): void {
  addApiCommand(key, {
    name: 'list',
    description: 'List the keys of a project, oldest first',
    project: true,
    notes: 'In a pipe: kid, name, algorithm, state, createTime, expireTime, tab-separated.',
    examples: ['pubring key list --active', 'pubring key list --json | jq -r ".[].id"'],
  })
    .option('--active', 'List active keys only')
    .action(async (flags: ConnectionFlags & { active?: true }) => {
      const { listKeys } = await import('../keys/show.ts')
      await listKeys(terminal, flags)
    })
  addApiCommand(key, {
    name: 'show',
    description: 'Show the details of a key',
    project: true,
    examples: [
      'pubring key show "orders service, spring 2026"',
      'pubring key show KID --pem > key.pem',
    ],
  })
    .argument('<key>', refHelp)
    .option('--pem', 'Print only the key, as PEM')
    .action(async (ref: string, flags: ConnectionFlags & { pem?: true }) => {
      const { showKey } = await import('../keys/show.ts')
      await showKey(terminal, ref, flags)
    })
}

function registerChanges(key: Command, terminal: Terminal): void {
  addApiCommand(key, {
    name: 'rename',
    description: 'Rename a key',
    project: true,
    examples: ['pubring key rename KID "orders service, autumn 2026"'],
  })
    .argument('<key>', refHelp)
    .argument('<name>', 'The new name')
    .action(async (ref: string, name: string, flags: ConnectionFlags) => {
      const { renameKey } = await import('../keys/changes.ts')
      await renameKey(terminal, ref, name, flags)
    })
  addApiCommand(key, {
    name: 'activate',
    description: 'Activate a key',
    project: true,
    examples: ['pubring key activate KID'],
  })
    .argument('<key>', refHelp)
    .action(async (ref: string, flags: ConnectionFlags) => {
      const { activateKey } = await import('../keys/changes.ts')
      await activateKey(terminal, ref, flags)
    })
  addApiCommand(key, {
    name: 'deactivate',
    description: 'Deactivate a key; it leaves the key set within a second',
    project: true,
    notes: 'To deactivate the last active key of a project, confirm or pass --yes.',
    examples: ['pubring key deactivate KID'],
  })
    .argument('<key>', refHelp)
    .addOption(yesOption())
    .action(async (ref: string, flags: ConfirmedFlags) => {
      const { deactivateKey } = await import('../keys/changes.ts')
      await deactivateKey(terminal, ref, flags)
    })
  addApiCommand(key, {
    name: 'expire',
    description: 'Set or remove the time at which a key expires',
    project: true,
    examples: ['pubring key expire KID 30d', 'pubring key expire KID never'],
  })
    .argument('<key>', refHelp)
    .argument('<when>', '90d, 2027-01-31T12:00:00Z, or never')
    .action(async (ref: string, when: string, flags: ConnectionFlags) => {
      const { expireKey } = await import('../keys/changes.ts')
      await expireKey(terminal, ref, when, flags)
    })
}

function registerDelete(key: Command, terminal: Terminal): void {
  addApiCommand(key, {
    name: 'delete',
    description: 'Delete an inactive key permanently',
    project: true,
    examples: ['pubring key delete KID --yes'],
  })
    .argument('<key>', refHelp)
    .addOption(yesOption())
    .action(async (ref: string, flags: ConfirmedFlags) => {
      const { deleteKey } = await import('../keys/changes.ts')
      await deleteKey(terminal, ref, flags)
    })
}

function registerRotate(key: Command, terminal: Terminal): void {
  addApiCommand(key, {
    name: 'rotate',
    description: 'Replace a key step by step, so that no token fails to verify',
    project: true,
    notes: [
      'Registers the new key and waits until every verifier has it. Then switch the signer. The old key expires with the last token that it signed. Once every verifier has dropped it, it is deleted.',
      'Stop it at any time with Ctrl-C: the server keeps the state, and the same command resumes. Without a terminal it stops before the signer must switch; resume it with --switched.',
    ].join('\n\n'),
    examples: [
      'pubring key rotate new.pem --name "orders service, autumn 2026" --token-lifetime 15m',
      'pubring key rotate new.pem --name autumn --old spring --switched --token-lifetime 15m',
    ],
  })
    .argument('<file>', 'The new public key, as for key add')
    .option('-n, --name <name>', 'Name of the new key; not needed to resume')
    .option('--old <key>', 'Kid or name of the key to replace; default: the only other active key')
    .option('-a, --algorithm <name>', 'Algorithm of the new key, as for key add')
    .option('--switched', 'Confirm that the signer uses the new key')
    .option(
      '--token-lifetime <time>',
      'Lifetime of tokens: the old key stays active this long after the switch',
      '1h',
    )
    .option('--keep', 'Keep the old key, inactive')
    .addOption(yesOption())
    .action(async (file: string, flags: KeyRotateFlags) => {
      const { rotateKey } = await import('../keys/rotate.ts')
      await rotateKey(terminal, file, flags)
    })
}

function registerCheck(key: Command, terminal: Terminal): void {
  addCommand(key, {
    name: 'check',
    description: 'Check offline whether a public key would be accepted',
    notes: 'Exits with 1 if it would be rejected.',
    examples: ['pubring key check key.pem --algorithm RS256'],
  })
    .argument('<file>', 'The key as PEM; - reads standard input')
    .option('-a, --algorithm <name>', 'The alg of tokens signed with it')
    .addOption(jsonOption())
    .action(async (file: string, flags: { algorithm?: string; json?: true }) => {
      const { check } = await import('../keys/check.ts')
      await check(terminal, file, flags)
    })
}

export function registerJwks(program: Command, terminal: Terminal): void {
  const jwks = addGroup(program, 'jwks', 'Show the published key set')
  addApiCommand(jwks, {
    name: 'show',
    description: 'Print the published key set of a project as JSON; needs no API key',
    project: true,
    examples: ['pubring jwks show --project payments', 'pubring jwks show | jq -r ".keys[].kid"'],
  }).action(async (flags: ConnectionFlags) => {
    const { showJwks } = await import('../keys/show.ts')
    await showJwks(terminal, flags)
  })
}
