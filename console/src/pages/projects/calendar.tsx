import { Anchor, Box, Text } from '@mantine/core'
import { Link } from 'wouter'
import { Calendar, DaySection, dayOf } from '../../components/calendar.tsx'
import { RelativeTime, week } from '../../components/times.tsx'
import { UserText } from '../../components/user-text.tsx'
import { placeOf } from '../../warnings/places.ts'
import { useWarnings } from '../../warnings/project-warnings.tsx'
import { maxProjects } from './query.ts'
import { endingsOf, type ProjectRow } from './rows.ts'

/** When keys and API keys end, in weeks and as a list. */
export function ExpiryCalendar({ rows }: { rows: ProjectRow[] }) {
  const { data: warnings = [] } = useWarnings()
  const endings = endingsOf(rows, warnings)
  return (
    <Box p="md">
      <Calendar
        name="Expiries"
        times={endings.map(({ time }) => time)}
        from={new Date()}
        to={new Date(Date.now() + 8 * week)}
      />
      <Text size="sm" c="dimmed" mt="sm" role="status">
        The next expiry of each of the first {maxProjects.toLocaleString()} projects, and all of
        which there are warnings.
      </Text>
      {[...Map.groupBy(endings, ({ time }) => dayOf(time))].map(([day, ofDay]) => (
        <DaySection key={day} time={ofDay[0]?.time ?? day}>
          <ul className="entries">
            {ofDay.map(({ time, name, ...place }) => (
              <Text key={`${name} ${time}`} component="li" size="sm" py={4}>
                <Anchor component={Link} href={placeOf(place)} underline="always" inherit>
                  <UserText>{name}</UserText>
                </Anchor>{' '}
                <RelativeTime time={time} />
              </Text>
            ))}
          </ul>
        </DaySection>
      ))}
    </Box>
  )
}
