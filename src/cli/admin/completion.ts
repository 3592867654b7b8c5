import tab from '@bomb.sh/tab'
import completionsOf from '@bomb.sh/tab/commander'
import type { Command } from 'commander'
import type { Terminal } from '../terminal/terminal.ts'

/** What bash has by the package bash-completion alone, as far as the script needs it. */
const wordsOfBash = `if ! declare -F _get_comp_words_by_ref > /dev/null; then
  _get_comp_words_by_ref() {
    cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD - 1]}
    words=("\${COMP_WORDS[@]}") cword=$COMP_CWORD
  }
fi
`

/** The script for the shell: it asks `pubring complete -- WORDS` at every Tab. */
export function printScript({ stdout }: Terminal, shell: string): void {
  if (shell === 'bash') stdout.write(wordsOfBash)
  tab.setup('pubring', 'pubring', shell)
}

/** Prints what may come next, as the scripts read it. */
export function complete(program: Command, words: string[]): void {
  completionsOf(program, { completionCommandName: 'completion' }).parse(words)
}
