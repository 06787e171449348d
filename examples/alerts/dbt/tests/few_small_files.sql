select location, small_file_count, file_count
from {{ source('lakebed', 'health') }}
where small_file_count > {{ var('small_files', 1000) }}
