/** A worker that dies, fails, stalls or responds, depending on the text. */
export function examine({ text }: { text: string }): unknown {
  if (text.includes('die')) process.exit(3)
  if (text.includes('fill')) {
    const chunks: number[][] = []
    for (;;) chunks.push(new Array(100_000).fill(0))
  }
  if (text.includes('fail')) return { failure: 'key intake failed with Error' }
  if (text.includes('wait')) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200)
  return {
    verdict: { ok: false, faults: [{ code: 'pem_not_found', detail: 'x' }], normalised: [] },
  }
}
