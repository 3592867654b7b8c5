import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../..')

/** A block of a page that shows commands. */
export interface CommandBlock {
  page: string
  language: string
  /** The block as a script. Of a `console` block the commands, without what they print. */
  script: string
  /** Why no test runs it, from a comment above the block: `<!-- not run: … -->`. */
  notRun?: string
}

/** The pages that people read, relative to the checkout. */
export const pages = globSync(['{.,packages/*,docs,docs/workloads}/*.md', 'examples/**/*.md'], {
  cwd: root,
  exclude: (name) => name === 'node_modules',
}).sort()

/** The blocks of a page in the languages `sh`, `bash` and `console` that have a command. */
export function commandBlocks(page: string): CommandBlock[] {
  const text = readFileSync(join(root, page), 'utf8')
  const blocks = text.matchAll(
    /^(?: *<!-- not run: (.*) -->\n)?( *)```(sh|bash|console)\n([\s\S]*?)^ *```$/gm,
  )
  return [...blocks].flatMap(([, notRun, indentation = '', language = '', body = '']) => {
    const unindented = body.replaceAll(new RegExp(`^${indentation}`, 'gm'), '')
    const script = language === 'console' ? typedIn(unindented) : unindented
    if (script === '') return []
    return [{ page, language, script, ...(notRun === undefined ? {} : { notRun }) }]
  })
}

/**
 * The commands of a session. That a check finds a fault (exit code 1), or that something is to be done
 * (2), is what the page shows.
 */
function typedIn(session: string): string {
  const commands = session.matchAll(/^[$#] (.*(?:\\\n.*)*)\n/gm)
  return [...commands].map(([, command]) => `${command} || [ $? -le 2 ]\n`).join('')
}

/** The tests that run all blocks of a page in some languages, beside commands.long.test.ts. */
const testsOfPages: Record<string, { languages: string[]; test: string }> = {
  'README.md': { languages: ['console'], test: 'test/docs/readme.test.ts' },
  'packages/client/README.md': { languages: ['sh'], test: 'test/package/package.long.test.ts' },
  'docs/api.md': { languages: ['sh'], test: 'test/docs/api.test.ts' },
  'docs/jwks-uri.md': { languages: ['sh'], test: 'test/docs/jwks-uri.long.test.ts' },
  'docs/operating.md': { languages: ['sh'], test: 'test/e2e/operating.test.ts' },
  'docs/quick-start.md': { languages: ['sh'], test: 'test/docs/quick-start.long.test.ts' },
  'docs/workloads/self-rotation.md': {
    languages: ['sh'],
    test: 'test/docs/self-rotation.test.ts',
  },
}

/** The commands that test/docs/workloads.test.ts runs, of each page the first that begins so. */
const workloadCommands = ['pubring access-rule create', 'pubring key add']

/** The test that runs the block; undefined if it is marked. */
export function testOf(block: CommandBlock): string | undefined {
  const { page, language, script, notRun } = block
  if (notRun !== undefined) return undefined
  const { languages = [], test } = testsOfPages[page] ?? {}
  if (languages.includes(language)) return test
  const isFirst = (command: string) =>
    commandBlocks(page).find((other) => other.script.includes(command))?.script === script
  const isOfWorkload = page.startsWith('docs/workloads/') && workloadCommands.some(isFirst)
  return isOfWorkload ? 'test/docs/workloads.test.ts' : 'test/docs/commands.long.test.ts'
}
