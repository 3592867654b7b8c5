/** A worker that dies, fails, stalls or responds, depending on the text. */
export function examine({ text }: Task): unknown {
  return measured(examineOne(text))
}

export function examineAll(tasks: Task[]): unknown {
  return measured(tasks.map(({ text }) => examineOne(text)))
}

interface Task {
  text: string
}

/** Texts that this thread was given, and reports as the detail of its fault. */
let count = 0

function examineOne(text: string): object {
  count += 1
  if (text.includes('die')) process.exit(3)
  if (text.includes('fill')) {
    const chunks: number[][] = []
    for (;;) chunks.push(new Array(100_000).fill(0))
  }
  if (text.includes('fail')) return { failure: 'key intake failed with Error' }
  if (text.includes('wait')) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200)
  const faults = [{ code: 'pem_not_found', detail: `text ${count}` }]
  return { verdict: { ok: false, faults, normalised: [] } }
}

const measured = (result: unknown) => ({ result, cpuMs: 1 })
