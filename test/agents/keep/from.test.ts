import { generateKeyPairSync } from 'node:crypto'
import { expect, test } from 'vitest'
import { currentJwk, expectDone, expectWhole, startKeepers } from './support.ts'

const { keeper, shell } = await startKeepers()

const newPem = () =>
  String(
    generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
      type: 'pkcs8',
      format: 'pem',
    }),
  )

test('the maker goes back to the key before, which stays in the folder', async () => {
  const { dir, keep, first } = await keeper()
  const [one, two] = [newPem(), newPem()]
  const kids: string[] = []
  for (const pem of [one, two, one]) {
    expectDone(await keep(['--from', shell.file('made.key', pem), '--once'], first))
    expect(currentJwk(dir).kid).toBe(expectWhole(dir))
    kids.push(expectWhole(dir))
  }
  expect(kids[2]).toBe(kids[0])
  expect(kids[1]).not.toBe(kids[0])
})
