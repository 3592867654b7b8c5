import type { Command } from 'commander'
import type { ConfirmedFlags, ConnectionFlags } from '../connection/connection.ts'
import type { KeyAddFlags } from '../keys/add.ts'
import type { KeyRotateFlags } from '../keys/rotate.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { addApiCommand, addCommand, addGroup, jsonOption, yesOption } from './options.ts'

/** Which key: every command about one key takes it like this. */
const whichKey = 'kid of the key, or its name where only one has it'

export function registerKeys(program: Command, terminal: Terminal): void {
  const key = addGroup(program, 'key', 'JWT public keys: add, list, rotate, switch off, delete')
  registerAdd(key, terminal)
  registerReads(key, terminal)
  registerChanges(key, terminal)
  registerDelete(key, terminal)
  registerRotate(key, terminal)
  registerCheck(key, terminal)
}

function registerAdd(key: Command, terminal: Terminal): void {
  addApiCommand(key, {
    usage: 'add',
    description: 'register a public key, and print its kid',
    project: true,
    notes:
      'The file holds one public key: PEM, DER, a certificate, an SSH public key or a JWK; what is not PEM is converted here. A private key is refused before anything is sent.',
    examples: [
      'pubring key add key.pem --name "orders service, spring 2026"',
      'openssl pkey -in private.pem -pubout | pubring key add - --name orders --expires 90d',
    ],
  })
    .argument('<file>', 'the public key; - reads standard input')
    .requiredOption('-n, --name <name>', 'what the list of keys calls it')
    .option(
      '-a, --algorithm <name>',
      'what tokens signed with it carry as alg; by default the usual one of the key',
    )
    .option('--inactive', 'register it switched off')
    .option('--expires <when>', 'switch it off by itself: in 90d, or at 2027-01-31T12:00:00Z')
    .action(async (file: string, flags: KeyAddFlags) => {
      const { addKey } = await import('../keys/add.ts')
      await addKey(terminal, file, flags)
    })
}

function registerReads(key: Command, terminal: Terminal): void {
  addApiCommand(key, {
    usage: 'list',
    description: 'list the keys of a project, oldest first',
    project: true,
    notes:
      'In a pipe: kid, name, algorithm, state, createTime, expireTime, with tabs between them.',
    examples: ['pubring key list --active', 'pubring key list --json | jq -r ".[].id"'],
  })
    .option('--active', 'the active ones alone')
    .action(async (flags: ConnectionFlags & { active?: true }) => {
      const { listKeys } = await import('../keys/show.ts')
      await listKeys(terminal, flags)
    })
  addApiCommand(key, {
    usage: 'show',
    description: 'show a key with what is known of it',
    project: true,
    examples: [
      'pubring key show "orders service, spring 2026"',
      'pubring key show KID --pem > key.pem',
    ],
  })
    .argument('<key>', whichKey)
    .option('--pem', 'print the key itself, as PEM, and nothing else')
    .action(async (given: string, flags: ConnectionFlags & { pem?: true }) => {
      const { showKey } = await import('../keys/show.ts')
      await showKey(terminal, given, flags)
    })
}

function registerChanges(key: Command, terminal: Terminal): void {
  addApiCommand(key, {
    usage: 'rename',
    description: 'give a key another name',
    project: true,
    examples: ['pubring key rename KID "orders service, autumn 2026"'],
  })
    .argument('<key>', whichKey)
    .argument('<name>', 'the new name')
    .action(async (given: string, label: string, flags: ConnectionFlags) => {
      const { renameKey } = await import('../keys/changes.ts')
      await renameKey(terminal, given, label, flags)
    })
  addApiCommand(key, {
    usage: 'activate',
    description: 'switch a key on',
    project: true,
    examples: ['pubring key activate KID'],
  })
    .argument('<key>', whichKey)
    .action(async (given: string, flags: ConnectionFlags) => {
      const { activateKey } = await import('../keys/changes.ts')
      await activateKey(terminal, given, flags)
    })
  addApiCommand(key, {
    usage: 'deactivate',
    description: 'switch a key off: within a second nothing that it signed verifies here',
    project: true,
    notes: 'The last active key of a project is asked about, or wants --yes.',
    examples: ['pubring key deactivate KID'],
  })
    .argument('<key>', whichKey)
    .addOption(yesOption())
    .action(async (given: string, flags: ConfirmedFlags) => {
      const { deactivateKey } = await import('../keys/changes.ts')
      await deactivateKey(terminal, given, flags)
    })
  addApiCommand(key, {
    usage: 'expire',
    description: 'let a key switch itself off at some time, or no longer',
    project: true,
    examples: ['pubring key expire KID 30d', 'pubring key expire KID never'],
  })
    .argument('<key>', whichKey)
    .argument('<when>', 'in 90d, at 2027-01-31T12:00:00Z, or never')
    .action(async (given: string, when: string, flags: ConnectionFlags) => {
      const { expireKey } = await import('../keys/changes.ts')
      await expireKey(terminal, given, when, flags)
    })
}

function registerDelete(key: Command, terminal: Terminal): void {
  addApiCommand(key, {
    usage: 'delete',
    description: 'delete a key that is switched off, for good',
    project: true,
    examples: ['pubring key delete KID --yes'],
  })
    .argument('<key>', whichKey)
    .addOption(yesOption())
    .action(async (given: string, flags: ConfirmedFlags) => {
      const { deleteKey } = await import('../keys/changes.ts')
      await deleteKey(terminal, given, flags)
    })
}

function registerRotate(key: Command, terminal: Terminal): void {
  addApiCommand(key, {
    usage: 'rotate',
    description: 'replace a key by a new one without a single refused token, step by step',
    project: true,
    notes: [
      'Registers the new key and waits until every verifier knows it; has you switch the signer; lets the old key expire when the last token that it signed has; waits until every verifier knows that; deletes it.',
      'It can be left at any time with Ctrl-C: all that counts is on the server, and the same command goes on where it was. Where nobody can be asked it ends before the signer is to be switched, and goes on when it is run again with --switched.',
    ].join('\n\n'),
    examples: [
      'pubring key rotate new.pem --name "orders service, autumn 2026" --token-lifetime 15m',
      'pubring key rotate new.pem --name autumn --old spring --switched --token-lifetime 15m',
    ],
  })
    .argument('<file>', 'the new public key, as for key add')
    .option('-n, --name <name>', 'name of the new key; not needed to go on')
    .option(
      '--old <key>',
      'the key to replace, by kid or name; by default the only other active one',
    )
    .option('-a, --algorithm <name>', 'of the new key, as for key add')
    .option('--switched', 'the signer signs with the new key now')
    .option(
      '--token-lifetime <time>',
      'how long tokens live: the old key counts for that long after the switch',
      '1h',
    )
    .option('--keep', 'leave the old key in the list, switched off')
    .addOption(yesOption())
    .action(async (file: string, flags: KeyRotateFlags) => {
      const { rotateKey } = await import('../keys/rotate.ts')
      await rotateKey(terminal, file, flags)
    })
}

function registerCheck(key: Command, terminal: Terminal): void {
  addCommand(key, {
    usage: 'check',
    description:
      'say whether a public key would be taken, without a server; exit code 1 where it would not',
    examples: ['pubring key check key.pem --algorithm RS256'],
  })
    .argument('<file>', 'the key as PEM; - reads standard input')
    .option('-a, --algorithm <name>', 'what tokens signed with it will carry as alg')
    .addOption(jsonOption())
    .action(async (file: string, flags: { algorithm?: string; json?: true }) => {
      const { check } = await import('../keys/check.ts')
      await check(terminal, file, flags)
    })
}
