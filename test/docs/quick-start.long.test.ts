import { execFile } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { packCheckout, plainEnvironment } from '../support/package.ts'
import { freePort, temporaryFolder } from '../support/server/process.ts'

const page = readFileSync(new URL('../../docs/quick-start.md', import.meta.url), 'utf8')
const { folder } = temporaryFolder()
const empty = join(folder, 'empty')

/** The page as one script: writes its files where it shows them and runs its commands unchanged. */
function script(): string {
  const blocks = page.matchAll(/^```(sh|js file=(\S+))\n([\s\S]*?)^```$/gm)
  return [...blocks]
    .map(([, , file, text = '']) => (file === undefined ? text : heredoc(file, text)))
    .join('')
}

function heredoc(file: string, text: string): string {
  return `cat > ${file} <<'END OF FILE'\n${text}END OF FILE\n`
}

test('docs/quick-start.md, followed literally in an empty folder, ends with a verified token', async () => {
  const tarball = await packCheckout(folder)
  mkdirSync(empty)
  copyFileSync(tarball, join(empty, basename(tarball)))
  const cleaned = `trap 'kill "$service" "$server" 2> /dev/null || :' EXIT\n${script()}`
  const { stdout } = await promisify(execFile)('bash', ['-eu', '-c', cleaned], {
    cwd: empty,
    env: {
      ...plainEnvironment,
      PUBRING_PORT: String(await freePort()),
      PORT: String(await freePort()),
    },
  })
  expect(stdout).toMatch(/^[0-9a-f-]{36}\torders, spring\tRSA\tspreading\t/m)
  expect(stdout).toContain('Hello, alice.\nvalid\n')
  expect(stdout).toMatch(/^not valid: key_inactive\n/m)
  expect(statSync(join(empty, 'pubring.log')).mode & 0o077).toBe(0)
})
