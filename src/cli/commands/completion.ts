import { Argument, type Command } from 'commander'
import { readVersion } from '../../runtime/version.ts'
import { printResult } from '../terminal/output.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { addCommand, describeCommand } from './options.ts'

const shells = ['bash', 'zsh', 'fish', 'powershell'] as const

/** The one function of the package bash-completion that the bash script needs. */
const bashFallback = `if ! declare -F _get_comp_words_by_ref > /dev/null; then
  _get_comp_words_by_ref() {
    cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD - 1]}
    words=("\${COMP_WORDS[@]}") cword=$COMP_CWORD
  }
fi
`

/**
 * Adds `completion` and the hidden `complete`, which its scripts run at every Tab. `createTree` makes
 * the commands to complete from.
 */
export function registerCompletion(
  program: Command,
  terminal: Terminal,
  createTree: (terminal: Terminal) => Command,
): void {
  describeCommand(
    program,
    'completion',
    'Print a shell script that completes commands and options',
    {
      examples: [
        'echo "source <(pubring completion bash)" >> ~/.bashrc',
        'echo "source <(pubring completion zsh)" >> ~/.zshrc',
        'pubring completion fish > ~/.config/fish/completions/pubring.fish',
      ],
    },
  )
    .addArgument(new Argument('<shell>', 'The shell').choices(shells))
    .action(async (shell: string) => {
      const { default: tab } = await import('@bomb.sh/tab')
      if (shell === 'bash') terminal.stdout.write(bashFallback)
      tab.setup('pubring', 'pubring', shell)
    })
  addCommand(program, 'version', 'Print the version', {
    examples: ['pubring version'],
  }).action(() => printResult(terminal, { version: readVersion() }, () => `${readVersion()}\n`))
  program
    .command('complete', { hidden: true })
    .argument('[words...]')
    .allowUnknownOption()
    .action(async (words: string[]) => {
      const { default: createCompletion } = await import('@bomb.sh/tab/commander')
      const completion = createCompletion(createTree(terminal), {
        completionCommandName: 'completion',
      })
      completion.parse(words)
    })
}
