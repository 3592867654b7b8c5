import { useDebouncedValue } from '@mantine/hooks'
import type { JwtKey, KeyCheck } from '@pubring/client'
import { type Conversion, convert } from '../../keys/conversion.ts'
import { useKeys } from '../../keys/queries.ts'
import { useApi } from '../../session/api.ts'

/** The result of checking the text of a key. */
export type KeyVerdict = {
  pending: boolean
  check?: KeyCheck | undefined
  /** The registered key of the project that is the same. */
  duplicate?: JwtKey | undefined
  /** The keys of a text in a format that the service does not accept. */
  conversions?: Conversion[] | undefined
  error?: unknown
}

/**
 * Checks a key while the user types. What `convert` knows is converted here; everything else is checked
 * by the service, and compared with the keys of the project.
 */
export function useVerdict(projectId: string, text: string): KeyVerdict {
  const keys = useKeys(projectId)
  const [settled] = useDebouncedValue(text.trim(), 300)
  const checked = settled === text.trim() ? settled : ''
  const query = useApi(
    ['verdict', checked],
    async (client, signal): Promise<Pick<KeyVerdict, 'check' | 'conversions'>> => {
      const conversions = convert(checked)
      if (conversions.length > 0) return { conversions }
      return { check: await client.keys.check({ publicKeyPem: checked }, { signal }) }
    },
    { enabled: checked !== '', gcTime: 0 },
  )
  if (text.trim() === '') return { pending: false }
  const pem = query.data?.check?.publicKeyPem
  return {
    pending: checked === '' || query.isFetching,
    ...(query.data ?? {}),
    duplicate: keys.data?.find(({ publicKeyPem }) => publicKeyPem === pem),
    ...(query.isError ? { error: query.error } : {}),
  }
}
