import { test } from 'vitest'
import { killKeepers } from '../../support/app/keepers.ts'

test('killed at any point, it leaves a valid pair, and the next turn ends what is left', async () => {
  await killKeepers({ keeper: 6, server: 1 })
})
