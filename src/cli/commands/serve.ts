import type { Command } from 'commander'
import { loadConfig, settings } from '../../config/server-settings.ts'
import type { Setting } from '../../config/setting.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { addCommand, addHelpNotes, describeCommand, lazyAction, optionOf } from './options.ts'

export function registerServe(program: Command, terminal: Terminal): void {
  const serve = describeCommand(program, 'serve', 'Run the server', {
    notes: 'Every option can be set by its environment variable instead.',
    examples: ['PUBRING_PUBLIC_URL=https://keys.example.com pubring serve --port 8080'],
  })
  addSettings(serve)
  serve.action(async (flags: Record<string, string>) => {
    const load = () => loadConfig(terminal.env, flags)
    // Before anything else is loaded, so that a mistake is reported at once.
    load()
    const { serve } = await import('../server/serve.ts')
    await serve(load)
  })
  const doctor = addCommand(program, 'doctor', 'Show whether the server can run, and how it is', {
    notes:
      'Takes the options and variables of serve, asks the server if one runs, and looks at the database; starts nothing and changes nothing. Each line says what to do. Exits with 1 if something is wrong. With --url, it looks at that server, and at the database if its address is set.',
    examples: ['pubring doctor', 'pubring doctor --url https://keys.example.com --json'],
  }).option('--url <url>', 'Look at the server at this address, instead of this machine')
  addSettings(doctor)
  doctor.action(lazyAction(terminal, async () => (await import('../server/doctor.ts')).diagnose))
}

function addSettings(command: Command): void {
  const all: readonly Setting<unknown>[] = Object.values(settings)
  for (const setting of all) if (setting.flag !== undefined) command.addOption(optionOf(setting))
  const secrets = all.filter(({ flag }) => flag === undefined)
  const width = Math.max(...secrets.map(({ env }) => env.length))
  addHelpNotes(command, (wrapped) => {
    const items = secrets.map(({ env, help }) => wrapped.formatItem(env, width, help, wrapped))
    return ['Environment only:', ...items].join('\n')
  })
}
