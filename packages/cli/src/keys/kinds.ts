import { type Algorithm, algorithmNames } from '@pubring/intake/algorithms'
import { parseChoice } from '../terminal/failures.ts'

/** The named algorithm. Throws a usage error that suggests the nearest name. */
export function parseAlgorithm(name: string): Algorithm {
  return parseChoice(name, algorithmNames, '--algorithm')
}

export function isAlgorithm(name: unknown): name is Algorithm {
  return algorithmNames.some((algorithm) => algorithm === name)
}
