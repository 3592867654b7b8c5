import type { Command } from 'commander'
import type { ConnectionFlags } from '../connection/connection.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { addApiCommand, addGroup } from './options.ts'

export function registerJwks(program: Command, terminal: Terminal): void {
  const jwks = addGroup(program, 'jwks', 'the key set that verifiers get')
  addApiCommand(jwks, {
    usage: 'show',
    description: 'print the published key set of a project, as JSON; it needs no API key',
    project: true,
    examples: ['pubring jwks show --project payments', 'pubring jwks show | jq -r ".keys[].kid"'],
  }).action(async (flags: ConnectionFlags) => {
    const { showJwks } = await import('../keys/show.ts')
    await showJwks(terminal, flags)
  })
}
