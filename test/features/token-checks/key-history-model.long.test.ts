import { expect, test } from 'vitest'
import { expectSameVerdicts, generateHistory } from '../../support/app/key-history-model.ts'

test('the verdicts at any time are those of a model, over 10,000 random changes', async () => {
  const made = await generateHistory(10_000, `many verdicts ${Date.now()}`)
  await expectSameVerdicts(made, 20)
  expect(made.keys.length).toBeGreaterThan(50)
})
