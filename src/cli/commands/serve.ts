import type { Command } from 'commander'
import { loadConfig, settings } from '../../config/server-settings.ts'
import type { Setting } from '../../config/setting.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { addCommand, optionOf } from './options.ts'

export function registerServe(program: Command, terminal: Terminal): void {
  const serve = addCommand(program, 'serve', 'Run the server', {
    notes: 'Every option can be set by its environment variable instead.',
    examples: ['PUBRING_PUBLIC_URL=https://keys.example.com pubring serve --port 8080'],
  })
  const all: readonly Setting<unknown>[] = Object.values(settings)
  for (const setting of all) if (setting.flag !== undefined) serve.addOption(optionOf(setting))
  const secrets = all.filter(({ flag }) => flag === undefined)
  const lines = secrets.map(({ env, help }) => `  ${env}  ${help}`)
  serve.addHelpText('after', ['', 'Environment only:', ...lines].join('\n'))
  serve.action(async (flags: Record<string, string>) => {
    const load = () => loadConfig(terminal.env, flags)
    // Before anything else is loaded, so that a mistake is reported at once.
    load()
    const { serve } = await import('../server/serve.ts')
    await serve(load)
  })
}
