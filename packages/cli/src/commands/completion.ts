import { Argument, type Command } from 'commander'
import { completionScripts } from '../completion/scripts.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { describeCommand, globalOptions } from './options.ts'

/** Adds `completion` and the hidden `complete`, which its scripts run at every Tab. */
export function registerShell(program: Command, terminal: Terminal): void {
  describeCommand(
    program,
    'completion',
    'Print a shell script that completes commands, options, projects, keys and files',
    {
      examples: [
        'echo "source <(pubring completion bash)" >> ~/.bashrc',
        'echo "source <(pubring completion zsh)" >> ~/.zshrc',
        'pubring completion fish > ~/.config/fish/completions/pubring.fish',
      ],
    },
  )
    .addArgument(new Argument('<shell>', 'The shell').choices(Object.keys(completionScripts)))
    .action((shell: string) => {
      terminal.stdout.write(completionScripts[shell] ?? '')
    })
  program
    .command('complete', { hidden: true })
    .argument('[words...]')
    .allowUnknownOption()
    .action(async (words: string[]) => {
      const { complete } = await import('../completion/complete.ts')
      await complete(terminal, { program, globalOptions }, words)
    })
}
