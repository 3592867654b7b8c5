import { Argument, type Command } from 'commander'
import type { Terminal } from '../terminal/terminal.ts'
import { addCommand } from './options.ts'

const shells = ['bash', 'zsh', 'fish', 'powershell'] as const

/** `completion`, and what its scripts call at every Tab; `bare` makes the tree to complete from. */
export function registerCompletion(
  program: Command,
  terminal: Terminal,
  bare: (terminal: Terminal) => Command,
): void {
  addCommand(program, {
    usage: 'completion',
    description: 'print a script that lets a shell complete commands and options',
    examples: [
      'echo "source <(pubring completion bash)" >> ~/.bashrc',
      'echo "source <(pubring completion zsh)" >> ~/.zshrc',
      'pubring completion fish > ~/.config/fish/completions/pubring.fish',
    ],
  })
    .addArgument(new Argument('<shell>', 'the shell').choices(shells))
    .action(async (shell: string) => {
      const { printScript } = await import('../admin/completion.ts')
      printScript(terminal, shell)
    })
  program
    .command('complete', { hidden: true })
    .argument('[words...]')
    .allowUnknownOption()
    .action(async (words: string[]) => {
      const { complete } = await import('../admin/completion.ts')
      complete(bare(terminal), words)
    })
}
