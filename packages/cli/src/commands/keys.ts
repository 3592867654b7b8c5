import { type Command, Option } from 'commander'
import type { Terminal } from '../terminal/terminal.ts'
import { parseExpires, parseTokenLifetime } from '../terminal/times.ts'
import {
  addApiCommand,
  addCommand,
  addGroup,
  addProjectCommand,
  lazyAction,
  parseAlgorithm,
  releaseNameOption,
  sessionAction,
  yesOption,
} from './options.ts'

const projectHelp = 'Id of the project, its end if unique, or name'

const loadProjects = () => import('../admin/projects.ts')

export function registerProjects(program: Command, terminal: Terminal): void {
  const project = addGroup(program, 'project', 'Manage projects, each with its own set of keys')
  addApiCommand(project, 'list', 'List the projects that the API key can access', {
    notes: 'In a pipe: name, id, revision, createTime, tab-separated.',
    examples: ['pubring project list', 'pubring project list | cut -f1'],
  }).action(sessionAction(terminal, async () => (await loadProjects()).listProjects))
  addApiCommand(project, 'show', 'Show a project, with the addresses that verifiers need', {
    examples: ['pubring project show payments'],
  })
    .argument('[project]', `${projectHelp}; default: that of PUBRING_PROJECT or the profile`)
    .action(sessionAction(terminal, async () => (await loadProjects()).showProject))
  addApiCommand(project, 'create', 'Create a project and print its id', {
    examples: ['pubring project create payments'],
  })
    .argument('<name>', '1 to 128 characters: a-z, 0-9 and hyphens')
    .addOption(releaseNameOption())
    .action(sessionAction(terminal, async () => (await loadProjects()).createProject))
  addApiCommand(project, 'rename', 'Rename a project; its id and its issuer stay the same', {
    examples: ['pubring project rename payments billing'],
  })
    .argument('<project>', projectHelp)
    .argument('<name>', 'The new name')
    .addOption(releaseNameOption())
    .action(sessionAction(terminal, async () => (await loadProjects()).renameProject))
  addApiCommand(project, 'delete', 'Delete a project without keys permanently', {
    examples: ['pubring project delete payments --yes'],
  })
    .argument('<project>', projectHelp)
    .addOption(yesOption())
    .action(sessionAction(terminal, async () => (await loadProjects()).deleteProject))
}

const refHelp = 'Kid, its end if unique, or unique label'

const lastActiveNote =
  'If this leaves the project, or its jwks.json, without an active key, now or once the others expire, confirm it or pass --yes.'

const loadShow = () => import('../keys/show.ts')
const loadChanges = () => import('../keys/changes.ts')

/** Long because it is a list. */
export function registerKeys(program: Command, terminal: Terminal): void {
  const key = addGroup(program, 'key', 'Manage JWT public keys')
  addProjectCommand(key, 'add', 'Register a public key and print its kid', {
    notes:
      'The file contains one public key: PEM, DER, a certificate, an SSH public key, a JWK or what the tool of a key management service prints. Formats other than PEM are converted on this machine. A private key is refused before anything is sent.',
    examples: [
      'pubring key add key.pem --label "orders service, spring 2026"',
      'openssl pkey -in private.pem -pubout | pubring key add - --label orders --expires 90d',
    ],
  })
    .argument('<file>', 'The public key; - reads standard input')
    .option('-n, --label <label>', 'What people call it; on a terminal, one is suggested')
    .option(
      '-a, --algorithm <name>',
      'The alg of tokens signed with it; default: the usual one for the key',
      parseAlgorithm,
    )
    .option('--inactive', 'Register it without activating it')
    .option(
      '--published-kid <kid>',
      'The kid in the key set and in tokens, if they carry one already; default: that of a JWK or of a key of Azure, or the id of the key',
    )
    .option('--no-published-kid', 'Publish it under its id, even if it is a JWK with a kid')
    .option('--expires <when>', 'When it expires: 90d, or 2027-01-31T12:00:00Z', parseExpires)
    .action(sessionAction(terminal, async () => (await import('../keys/add.ts')).addKey))
  addProjectCommand(key, 'list', 'List the keys of a project, oldest first', {
    notes:
      'The state of an active key is compromised (its private key is known: replace it), spreading (not every verifier knows it yet), current (sign with it) or previous (it is being replaced); that of an inactive one is off or expired. In a pipe: kid, label, algorithm, state, createTime, expireTime, tab-separated.',
    examples: ['pubring key list --active', 'pubring key list --json | jq -r ".[].kid"'],
  })
    .option('--active', 'Only active keys')
    .action(sessionAction(terminal, async () => (await loadShow()).listKeys))
  addProjectCommand(key, 'show', 'Show the details of keys', {
    examples: [
      'pubring key show "orders service, spring 2026"',
      'pubring key show KID --pem > key.pem',
    ],
  })
    .argument('<key...>', refHelp)
    .option('--pem', 'Print only the keys, as PEM')
    .action(sessionAction(terminal, async () => (await loadShow()).showKeys))
  addProjectCommand(key, 'rename', 'Change the label of a key', {
    examples: ['pubring key rename KID "orders service, autumn 2026"'],
  })
    .argument('<key>', refHelp)
    .argument('<label>', 'The new label')
    .action(sessionAction(terminal, async () => (await loadChanges()).renameKey))
  addProjectCommand(key, 'activate', 'Activate keys', {
    examples: ['pubring key activate KID', 'pubring key activate KID --expires 90d'],
  })
    .argument('<key...>', refHelp)
    .option('--expires <when>', 'When they expire: 90d, 2027-01-31T12:00:00Z, or never')
    .action(sessionAction(terminal, async () => (await loadChanges()).activateKeys))
  addProjectCommand(key, 'deactivate', 'Deactivate keys; they leave the key set within a second', {
    notes: lastActiveNote,
    examples: [
      'pubring key deactivate KID --reason superseded',
      'pubring key deactivate KID --reason compromised --with-vouched',
    ],
  })
    .argument('<key...>', refHelp)
    .addOption(
      new Option(
        '--reason <reason>',
        'Why they end; a compromised key is never activated again',
      ).choices(['superseded', 'compromised', 'unspecified']),
    )
    .option(
      '--with-vouched',
      'First also deactivate the keys that they vouched for, directly or through others',
    )
    .addOption(yesOption())
    .action(sessionAction(terminal, async () => (await loadChanges()).deactivateKeys))
  addProjectCommand(key, 'expire', 'Set or remove the time at which keys expire', {
    notes: lastActiveNote,
    examples: ['pubring key expire KID 30d', 'pubring key expire KID never'],
  })
    .usage('[options] <key...> <when>')
    .argument('<key...>', `${refHelp}; then when: 90d, 2027-01-31T12:00:00Z, or never`)
    .addOption(yesOption())
    .action(sessionAction(terminal, async () => (await loadChanges()).expireKeys))
  addProjectCommand(key, 'delete', 'Delete inactive keys permanently', {
    examples: ['pubring key delete KID --yes'],
  })
    .argument('<key...>', refHelp)
    .addOption(yesOption())
    .action(sessionAction(terminal, async () => (await loadChanges()).deleteKeys))
  registerRotations(key, terminal)
  addCommand(key, 'check', 'Check offline whether a public key would be accepted', {
    notes:
      'Takes every form that key add takes, and sends nothing. Exits with 1 if the key would be rejected.',
    examples: ['pubring key check key.pem --algorithm RS256'],
  })
    .argument('<file>', 'The key, as for key add; - reads standard input')
    .option('-a, --algorithm <name>', 'The alg of tokens signed with it', parseAlgorithm)
    .action(lazyAction(terminal, async () => (await import('../keys/check.ts')).check))
}

/** Long because it is a list. */
function registerRotations(key: Command, terminal: Terminal): void {
  const loadRotations = () => import('../keys/rotate.ts')
  const rotate = sessionAction(terminal, async () => (await loadRotations()).rotateKey)
  addProjectCommand(key, 'rotate', 'Replace a key step by step, so that no token fails to verify', {
    notes: [
      'Registers the new key, starts a rotation on the server, and waits until every verifier has the key. Then switch the signer. It then lets the old key expire once its last token has.',
      'Stop it at any time with Ctrl-C. The server keeps the state: anyone resumes with --resume, on any machine. Without a terminal it stops before the signer must switch; resume it with --switched.',
    ].join('\n\n'),
    examples: [
      'pubring key rotate new.pem --label "orders service, autumn 2026" --token-lifetime 15m',
      'pubring key rotate --resume --switched',
    ],
  })
    .argument('[file]', 'The new public key, as for key add')
    .addOption(
      new Option(
        '--new <key>',
        `The new key, if it is registered: its ${refHelp.toLowerCase()}`,
      ).conflicts(['label', 'algorithm']),
    )
    .addOption(
      new Option(
        '--resume [rotation]',
        'Go on with this rotation; default: the only one under way',
      ).conflicts(['new', 'old', 'label', 'algorithm']),
    )
    .option(
      '--old <key>',
      `The key to replace: its ${refHelp.toLowerCase()}; default: the only other active key`,
    )
    .option('-n, --label <label>', 'Label of the new key')
    .option('-a, --algorithm <name>', 'Algorithm of the new key, as for key add', parseAlgorithm)
    .option('--switched', 'Confirm that the signer uses the new key')
    .option(
      '--token-lifetime <time>',
      'Lifetime of tokens: the old key stays active this long after the switch',
      parseTokenLifetime,
    )
    .addOption(yesOption())
    .action(rotate)
  addProjectCommand(key, 'keep', 'Keep a signing key in a folder and rotate it by itself', {
    notes:
      'Runs beside a signer until SIGTERM. A turn makes a key pair, or takes that of --from; registers it; waits until every verifier knows it; replaces DIR/current.jwk and the link DIR/current; runs --exec with KEY_DIR and KEY_KID in its environment; and lets the old key end with its last token. The first turn takes an API key, and none is stored: from then on the current key vouches for the next one, by the access rule of pubring access-rule create --self-rotation, which an admin API key makes by itself. A workload with a token of its own uses that.',
    examples: [
      'pubring key keep /var/lib/orders --every 30d --token-lifetime 15m --project payments',
      "pubring key keep /var/lib/orders --from /tls/tls.key --token-lifetime 15m --exec 'systemctl reload orders'",
    ],
  })
    .argument('<dir>', 'The folder, which only the signer may read')
    .option('--every <time>', 'How long a key signs; not needed with --from')
    .requiredOption(
      '--token-lifetime <time>',
      'Lifetime of tokens: the old key stays active this long after the switch',
      parseTokenLifetime,
    )
    .option(
      '-a, --algorithm <name>',
      'Algorithm of new keys; default: as before, or ES256',
      parseAlgorithm,
    )
    .option('--from <file>', 'The private key that others renew: PEM or JWK')
    .option('--exec <command>', 'Run this in a shell after each switch')
    .option('--listen <host:port>', 'Serve /health/ready and /metrics there')
    .option('--once', 'Do what is due, and exit with 0 if that succeeded')
    .action(lazyAction(terminal, async () => (await import('../keys/keep.ts')).keepKey))
  const rotation = addGroup(key, 'rotation', 'Manage the rotations of a project')
  addProjectCommand(rotation, 'list', 'List rotations: those under way first, the newest first', {
    notes:
      'In a pipe: id, old kid, new kid, state, convergedTime, expireTime of the old key, who started it, tab-separated.',
    examples: ['pubring key rotation list'],
  }).action(sessionAction(terminal, async () => (await loadRotations()).listRotations))
  addProjectCommand(rotation, 'abandon', 'Give up a rotation; the keys stay as they are', {
    examples: ['pubring key rotation abandon ID'],
  })
    .argument('<rotation>', 'Id, or its end if unique')
    .action(sessionAction(terminal, async () => (await loadRotations()).abandonRotation))
}

/** Long because it is a list. */
export function registerBulk(program: Command, terminal: Terminal): void {
  addProjectCommand(program, 'import', 'Register many public keys, all or none', {
    notes:
      'The source is a file (PEM blocks, a JWKS, certificates by kid, the JSON of a key management service or an export), a folder of such files, or - for standard input. The label of each key is its kid, its comment or the name of its file. The kid of a key set stays the published kid; an API key with the role admin for all projects restores an export with its ids and times. Keys that are already registered are skipped. If the source contains a private key, nothing is sent.',
    examples: [
      'pubring import keys.pem --dry-run',
      'curl -fsS https://login.example.com/jwks.json | pubring import - --project payments',
      'pubring export --all > keys.json && pubring import keys.json --all --profile other',
    ],
  })
    .argument('<source>', 'File, folder, or - for standard input')
    .addOption(
      new Option(
        '--all',
        'Import all projects of an export; create missing ones with their ids',
      ).conflicts('project'),
    )
    .option(
      '-a, --algorithm <name>',
      'Algorithm of keys that fit it and have none in the source',
      parseAlgorithm,
    )
    .addOption(releaseNameOption())
    .option('--skip-refused', 'Import the other keys if some are rejected')
    .option('--dry-run', 'Show what would be imported, and import nothing')
    .action(sessionAction(terminal, async () => (await import('../import/run.ts')).importSource))
  addProjectCommand(
    program,
    'export',
    'Write the keys of one project or of all to stdout as JSON',
    {
      notes:
        'It has everything that import needs to restore the keys. For the key set that verifiers get: pubring jwks show.',
      examples: ['pubring export > payments.json', 'pubring export --all > everything.json'],
    },
  )
    .addOption(
      new Option('--all', 'Export all projects that the API key can access').conflicts('project'),
    )
    .action(sessionAction(terminal, async () => (await import('../import/export.ts')).exportKeys))
  addProjectCommand(program, 'apply', "Make a project's keys match a file", {
    notes:
      'The plan is shown first, as a diff. A project that does not exist is created. Keys that are not in the file stay, unless --prune is set. If the file leaves out active or expireTime, that value is not changed. A key that was deleted is not registered again without --restore-deleted. The last active key is never removed without --yes. With --dry-run, the exit code is 2 if the project differs from the file.',
    examples: ['pubring apply keys.yaml --dry-run', 'pubring apply keys.yaml --prune --yes'],
  })
    .argument('<file>', 'The declaration, as YAML or JSON; - reads standard input')
    .option('--prune', 'Deactivate and delete keys that are not in the file')
    .option('--restore-deleted', 'Register keys of the file again that were deleted')
    .addOption(releaseNameOption())
    .option('--dry-run', 'Show the plan, and change nothing')
    .addOption(yesOption())
    .action(sessionAction(terminal, async () => (await import('../import/apply.ts')).applyFile))
}
