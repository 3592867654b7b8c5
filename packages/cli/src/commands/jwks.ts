import type { Command } from 'commander'
import type { Terminal } from '../terminal/terminal.ts'
import { addApiCommand, addGroup, addProjectCommand, lazyAction } from './options.ts'

/** Long because it is a list. */
export function registerJwks(program: Command, terminal: Terminal): void {
  const jwks = addGroup(program, 'jwks', 'Show and follow published key sets; needs no API key')
  addProjectCommand(jwks, 'show', 'Print the key set of a project as JSON', {
    examples: ['pubring jwks show --project payments', 'pubring jwks show | jq -r ".keys[].kid"'],
  }).action(lazyAction(terminal, async () => (await import('../keys/show.ts')).showJwks))
  addApiCommand(jwks, 'follow', 'Keep the key sets of projects in files or at a local address', {
    notes:
      'Runs beside a verifier until SIGTERM: writes the keys again within a second of each change, and then runs --exec with JWKS_PROJECTS and JWKS_OUT in its environment. While the server is away the last keys stay, for --stale-after; then --on-stale decides. SIGHUP fetches and writes everything again. Beside the keys it keeps its state and a heartbeat.',
    examples: [
      'pubring jwks follow ID --out /run/keys/payments.json',
      "pubring jwks follow ID --format haproxy --out /etc/haproxy/keys.cfg --exec 'systemctl reload haproxy'",
      'pubring jwks follow ID OTHER_ID --listen 127.0.0.1:8081',
    ],
  })
    .argument(
      '<project...>',
      'Ids of the projects; a name is resolved once, and refused with --log-key',
    )
    .option('--out <path>', 'The file or folder to write')
    .option('--format <name>', `${formatHelp}`, 'jwks')
    .option('--template <file>', 'For envoy-lds: the text in which {{jwks}} is replaced')
    .option('--algorithm <name...>', 'Leave out keys of other algorithms')
    .option('--exec <command>', 'Run this in a shell after each change')
    .option('--listen <host:port>', 'Serve key sets and discovery there, and /health/ready')
    .option(
      '--on-stale <keep|empty>',
      'What to do with the keys after --stale-after; default: keep, with --log-key empty',
    )
    .option('--stale-after <time>', 'How long keys are trusted without the server', '10m')
    .option('--state <file>', 'Keep ids and key sets there across restarts; default: beside --out')
    .option('--accept-history <head...>', 'Let the server go back to this REVISION.HASH8')
    .option(
      '--log-key <vkey>',
      'Take over no key that the log with this verifier key has not proven',
    )
    .option('--witness-key <vkey...>', 'Verifier keys of witnesses that must have cosigned the log')
    .option('--once', 'Write once, and exit with 0 if that succeeded')
    .action(lazyAction(terminal, async () => (await import('../follow/follow.ts')).followKeySets))
}

const formatHelp = 'jwks, pem-dir, haproxy, envoy-lds or nginx (a module for njs)'
