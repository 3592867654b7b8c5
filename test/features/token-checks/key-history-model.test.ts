import { expect, test } from 'vitest'
import { expectSameVerdicts, generateHistory } from '../../support/app/key-history-model.ts'

test('the verdicts at any time are those of a model, over 400 random changes', async () => {
  const made = await generateHistory(400, 'verdicts')
  await expectSameVerdicts(made, 10)
  expect(made.keys.length).toBeGreaterThan(5)
})
