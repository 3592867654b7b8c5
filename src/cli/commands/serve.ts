import { type Command, Option } from 'commander'
import { loadConfig, settings } from '../../config/server-settings.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { addCommand } from './options.ts'

export function registerServe(program: Command, terminal: Terminal): void {
  const serve = addCommand(program, {
    usage: 'serve',
    description: 'run the server; every option can be given in the environment instead',
    examples: ['PUBRING_PUBLIC_URL=https://keys.example.com pubring serve --port 8080'],
  })
  const secrets: string[] = []
  for (const setting of Object.values(settings)) {
    const preset = setting.default === undefined ? '' : ` Default: ${setting.default}.`
    const help = `${setting.help}${preset} [${setting.env}]`
    if ('flag' in setting && setting.flag !== undefined) {
      serve.addOption(new Option(`${setting.flag} <value>`, help))
    } else secrets.push(`  ${setting.env}  ${setting.help}`)
  }
  serve.addHelpText('after', ['', 'Environment only:', ...secrets].join('\n'))
  serve.action(async (flags: Record<string, string>) => {
    const config = loadConfig(terminal.env, flags)
    const command = await import('../server/serve.ts')
    await command.serve(config)
  })
}
