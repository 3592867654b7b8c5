import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, onTestFinished, test } from 'vitest'

const folder = join(import.meta.dirname, '../../../examples/verifiers')
const script = 'sleep 600 & gateway=$!; sleep 601 & follower=$!; echo $gateway $follower; '
/** Writes a line once the script watches both, and before it ends them. */
const watching = 'kill() { echo; command kill "$@"; }; '

const isRunning = (pid: number) => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

test.each(['the gateway', 'the follower', 'the script'])(
  'the scripts of gateways leave nothing behind when %s ends',
  async (ended) => {
    const shell = spawn('sh', ['-euc', `${script}${watching}. ./until-one-ends.sh`], {
      cwd: folder,
    })
    onTestFinished(() => void shell.kill('SIGKILL'))
    const exited = once(shell, 'exit')
    const lines = createInterface(shell.stdout)[Symbol.asyncIterator]()
    const { value } = await lines.next()
    const [gateway = 0, follower = 0] = String(value).split(' ').map(Number)
    await lines.next()
    const pids = { 'the gateway': gateway, 'the follower': follower, 'the script': shell.pid }
    process.kill(pids[ended as keyof typeof pids] ?? 0)
    await exited
    await expect.poll(() => [gateway, follower].some(isRunning)).toBe(false)
  },
)
